package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tree is the source of the module, as far as the rules look at it.
type tree struct {
	module   string
	packages []pkg
}

// pkg is one package. Its path is relative to the module: "store/sqlite".
type pkg struct {
	path  string
	files []file
}

// file is one Go file of a package, whatever its build tags are.
type file struct {
	name    string
	test    bool
	imports []string
	// comment is the package comment, "" where there is none.
	comment string
	// clock lists the reads of a clock, each as "file.go:12 reads time.Now".
	clock []string
}

// clockReads are the functions of package time that read the wall clock.
var clockReads = []string{"Now", "Since", "Until"}

// load reads the module around the working directory: the packages from go list,
// their files from the folders themselves, because go list leaves out what
// the present platform does not build.
func load(t *testing.T) tree {
	t.Helper()
	var module struct{ Path, Dir string }
	goList(t, func(d *json.Decoder) error { return d.Decode(&module) }, "-m", "-json")
	loaded := tree{module: module.Path}
	goList(t, func(d *json.Decoder) error {
		for {
			var listed struct{ ImportPath, Dir string }
			if err := d.Decode(&listed); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			files, err := parseFolder(listed.Dir)
			if err != nil {
				return err
			}
			loaded.packages = append(loaded.packages, pkg{path: within(module.Path, listed.ImportPath), files: files})
		}
	}, "-e", "-json=ImportPath,Dir", filepath.Join(module.Dir, "..."))
	return loaded
}

// goList runs go list and hands its JSON to read.
func goList(t *testing.T, read func(*json.Decoder) error, args ...string) {
	t.Helper()
	var problems strings.Builder
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, problems.String())
	}
	if err := read(json.NewDecoder(strings.NewReader(string(out)))); err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
}

// parseFolder reads every Go file of a folder.
func parseFolder(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, entry := range entries {
		if entry.IsDir() || path.Ext(entry.Name()) != ".go" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		parsed, err := parseFile(entry.Name(), content)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
	}
	return files, nil
}

// parseFile reads what the rules look at in one file.
func parseFile(name string, content []byte) (file, error) {
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, fmt.Errorf("archtest: %w", err)
	}
	parsed := file{name: name, test: strings.HasSuffix(name, "_test.go"), comment: strings.TrimSpace(syntax.Doc.Text())}
	timeName := ""
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, fmt.Errorf("archtest: %s: %w", name, err)
		}
		parsed.imports = append(parsed.imports, imported)
		if imported == "time" {
			timeName = "time"
			if spec.Name != nil {
				timeName = spec.Name.Name
			}
		}
	}
	if timeName == "." {
		// What it reads can not be seen from the syntax, so the import itself counts.
		parsed.clock = append(parsed.clock, name+":1 has a dot import of time")
	}
	ast.Inspect(syntax, func(node ast.Node) bool {
		// Both a call and a mention as a value are a selector.
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(clockReads, selector.Sel.Name) {
			if ident, ok := selector.X.(*ast.Ident); ok && ident.Name == timeName {
				parsed.clock = append(parsed.clock, fmt.Sprintf("%s:%d reads time.%s", name, positions.Position(selector.Pos()).Line, selector.Sel.Name))
			}
		}
		return true
	})
	return parsed, nil
}

// within returns an import path relative to the module, "." for the module's root.
func within(module, importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}
