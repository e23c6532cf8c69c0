package auth

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"unicode/utf8"
)

// maxSecretFileBytes bounds a file of tokens or keys: room for some 100,000
// tokens, and no way to fill the memory by naming the wrong file.
const maxSecretFileBytes = 8 << 20

// Others are all but the owner, the group included, as sshd counts them for
// authorized_keys: whoever may write the file may let himself in.
const (
	othersRead  fs.FileMode = 0o044
	othersWrite fs.FileMode = 0o022
)

// Warning is something in the configuration that works but deserves a look. It is
// one line and contains no secret.
type Warning struct {
	// Setting is the variable that the warning is about.
	Setting string
	// Text says what is wrong and what to do.
	Text string
}

// String returns the warning as one line.
func (w Warning) String() string { return w.Setting + ": " + w.Text }

// ReadSecretFile reads the file that the variable setting names. A symbolic link
// is followed to a regular file of at most 8 MiB of UTF-8; a byte order mark at
// its start is dropped. A file that others can write is an error, one that others
// can read gives a warning. On Windows, whose mode bits say neither, both
// are left to the system's access lists.
//
// Errors begin with the setting, quote the path and nothing of the content.
func ReadSecretFile(setting, path string) (string, []Warning, error) {
	refuse := func(format string, args ...any) (string, []Warning, error) {
		return "", nil, fmt.Errorf("%s: file %q "+format, append([]any{setting, path}, args...)...)
	}

	// O_NONBLOCK, because opening a named pipe without a writer would never return.
	// The checks are made on the opened file: the path could change its meaning in between.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return refuse("can not be opened: %w", withoutPath(err))
	}
	defer func() { _ = file.Close() }() // opened for reading: nothing can be lost

	info, err := file.Stat()
	if err != nil {
		return refuse("can not be examined: %w", withoutPath(err))
	}
	if !info.Mode().IsRegular() {
		return refuse("is not a regular file")
	}

	var warnings []Warning
	if runtime.GOOS != "windows" {
		mode := info.Mode().Perm()
		if mode&othersWrite != 0 {
			return refuse("has mode %04o: others than its owner can write it; run chmod 600 on it", mode)
		}
		if mode&othersRead != 0 {
			warnings = append(warnings, Warning{
				Setting: setting,
				Text:    fmt.Sprintf("file %q has mode %04o: others than its owner can read it; chmod 600 is enough", path, mode),
			})
		}
	}

	content, err := io.ReadAll(io.LimitReader(file, maxSecretFileBytes+1))
	if err != nil {
		return refuse("can not be read: %w", withoutPath(err))
	}
	if len(content) > maxSecretFileBytes {
		return refuse("is larger than %d bytes", maxSecretFileBytes)
	}
	if !utf8.Valid(content) {
		return refuse("is not UTF-8 text")
	}
	return trimByteOrderMark(string(content)), warnings, nil
}

// withoutPath drops the path from an error of package os, which would stand in it
// a second time and unescaped: a line break in it would make two lines of one.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// trimByteOrderMark removes what some editors put before the first character and
// nobody sees: it would become part of the first user's name.
func trimByteOrderMark(text string) string {
	const mark = "\uFEFF"
	if len(text) >= len(mark) && text[:len(mark)] == mark {
		return text[len(mark):]
	}
	return text
}
