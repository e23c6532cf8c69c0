package archtest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// check returns what breaks a rule, one sentence each, in the order of the tree.
func check(t tree) []string {
	var found []string
	for _, p := range t.packages {
		found = append(found, checkDoc(p)...)
		allowed, known := arrowsFrom(p.path)
		if !known {
			found = append(found, fmt.Sprintf("%s is not in the table of arrows; say there whom it may import", p.path))
		}
		for _, f := range p.files {
			for _, imported := range f.imports {
				var complaint string
				switch {
				case imported == t.module || strings.HasPrefix(imported, t.module+"/"):
					if known {
						complaint = checkArrow(p.path, within(t.module, imported), f.test, allowed)
					}
				case !f.test:
					complaint = checkLibrary(p.path, imported)
				}
				if complaint != "" {
					found = append(found, fmt.Sprintf("%s/%s %s", p.path, f.name, complaint))
				}
			}
			if !f.test && slices.Contains(clockless, p.path) {
				for _, read := range f.clock {
					found = append(found, fmt.Sprintf("%s/%s; the instant has to come from the caller", p.path, read))
				}
			}
		}
	}
	return found
}

// checkDoc looks for a doc.go with the package comment, and for no second one.
func checkDoc(p pkg) []string {
	var found []string
	documented := false
	for _, f := range p.files {
		switch {
		case f.comment == "":
		case f.name == "doc.go":
			documented = true
		case !f.test:
			found = append(found, fmt.Sprintf("%s/%s has a package comment; it belongs into doc.go", p.path, f.name))
		}
	}
	if !documented {
		found = append(found, p.path+" has no doc.go with a package comment")
	}
	return found
}

// arrowsFrom returns whom a package may import, and whether the table has it.
func arrowsFrom(from string) ([]string, bool) {
	for _, pattern := range slices.Sorted(maps.Keys(arrows)) {
		if matches(pattern, from) {
			return arrows[pattern], true
		}
	}
	return nil, false
}

// checkArrow judges an import of one of our packages by another.
func checkArrow(from, to string, test bool, allowed []string) string {
	fits := func(pattern string) bool { return matches(pattern, to) }
	if !test && slices.Contains(testSupport, to) && !slices.Contains(testSupport, from) {
		return fmt.Sprintf("imports %s, which is for tests", to)
	}
	if slices.ContainsFunc(allowed, fits) {
		return ""
	}
	// An external test imports its own package.
	if test && (from == to || slices.ContainsFunc(testArrows[from], fits)) {
		return ""
	}
	return fmt.Sprintf("imports %s, and there is no arrow from %s to it", to, from)
}

// checkLibrary judges an import of somebody else's package in a file that is no test.
func checkLibrary(from, imported string) string {
	if only, ok := onlyLibraries[from]; ok && !isStandard(imported) {
		if !slices.ContainsFunc(only, func(library string) bool { return below(library, imported) }) {
			return fmt.Sprintf("imports %s, and %s has to do with the standard library%s", imported, from, also(only))
		}
	}
	var closest home
	for _, h := range homes {
		if below(h.library, imported) && len(h.library) > len(closest.library) {
			closest = h
		}
	}
	if closest.library == "" || slices.ContainsFunc(closest.packages, func(pattern string) bool { return matches(pattern, from) }) {
		return ""
	}
	return fmt.Sprintf("imports %s; allowed in %s: %s", imported, inWords(closest.packages), closest.why)
}

// matches tells whether a pattern of the table means a package.
func matches(pattern, name string) bool {
	if folder, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, folder)
	}
	return pattern == name
}

// below tells whether an import path is the library or in it.
func below(library, imported string) bool {
	return imported == library || strings.HasPrefix(imported, library+"/")
}

// isStandard tells the standard library by its first element, which has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return path.Ext(first) == "" && !strings.Contains(first, ".") && imported != "C"
}

func also(libraries []string) string {
	if len(libraries) == 0 {
		return ""
	}
	return " and " + strings.Join(libraries, ", ")
}

func inWords(packages []string) string {
	if len(packages) == 0 {
		return "tests only"
	}
	return strings.Join(packages, ", ")
}
