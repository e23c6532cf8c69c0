package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var hook = regexp.MustCompile(`\bmutant\("([^"]*)"\)`)

// hooks finds the names that the source asks for.
func hooks(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, s := range suites {
		files, err := filepath.Glob(filepath.Join(root, string(s), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, found := range hook.FindAllStringSubmatch(string(text), -1) {
				names = append(names, found[1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var listed = regexp.MustCompile(`(?m)^\t"([^"]*)", +//`)

// kernelList reads the list of the kernel, which this test is not built with.
func kernelList(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, string(kernel), "mutant_on.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range listed.FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	return names
}

// TestTable: a mutant that nobody looks for would be caught by nobody, and one
// that has no hook would be caught by accident.
func TestTable(t *testing.T) {
	t.Parallel()
	hooked := hooks(t)
	var names []string
	for _, m := range table {
		if slices.Contains(names, m.name) {
			t.Errorf("%s stands in the table twice", m.name)
		}
		names = append(names, m.name)
		if !slices.Contains(hooked, m.name) {
			t.Errorf("%s has no hook in the source", m.name)
		}
		if len(m.caught) == 0 {
			t.Errorf("%s is looked for by no test", m.name)
		}
	}
	for _, name := range hooked {
		if !slices.Contains(names, name) {
			t.Errorf("the hook %s is not in the table", name)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(names)), kernelList(t)); diff != "" {
		t.Errorf("the list in the kernel (-table +kernel):\n%s", diff)
	}
}
