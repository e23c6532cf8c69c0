package histories

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkPatience is how long porcupine may take for one name. Histories of honest
// servers take it milliseconds: they are nearly sequential.
const checkPatience = 20 * time.Second

// enoughNames is how many names that do not fit the model are looked for. To find
// that nothing fits takes porcupine long, and the next ones say the same.
const enoughNames = 3

// Check judges a history: each name against the kind's model and by its facts, and
// the run by what it came across. It returns every problem that it finds, and what
// the history covers.
func Check(h *History, kind Kind) ([]Problem, *Tally) {
	names := h.ByName()
	tally := newTally(h)
	var mu sync.Mutex
	var problems []Problem
	for _, text := range h.Accidents {
		problems = append(problems, Problem{Text: text})
	}
	var unfit, unchecked atomic.Int64
	todo := make(chan string)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for name := range todo {
				found := kind.Facts(h, names[name])
				if unfit.Load() >= enoughNames {
					unchecked.Add(1)
				} else if p := checkModel(kind.Model(), kind.Operations(h, names[name]), checkPatience); p != nil {
					unfit.Add(1)
					p.Calls = names[name]
					found = append(found, *p)
				}
				for i := range found {
					found[i].Name = name
				}
				mu.Lock()
				problems = append(problems, found...)
				kind.Count(h, names[name], tally)
				mu.Unlock()
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		todo <- name
	}
	close(todo)
	workers.Wait()
	if n := unchecked.Load(); n > 0 {
		problems = append(problems, Problem{Text: fmt.Sprintf("%d names more were not held against the model", n)})
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Name, b.Name) })
	return problems, tally
}

// checkModel holds the operations on one name against the model. That porcupine
// does not know is as bad as that it does not fit.
func checkModel(model porcupine.Model, ops []porcupine.Operation, patience time.Duration) *Problem {
	switch result := porcupine.CheckOperationsTimeout(model, ops, patience); result {
	case porcupine.Ok:
		return nil
	case porcupine.Illegal:
		return &Problem{Text: "Illegal: no order of the calls explains the answers" + furthest(model, ops, patience)}
	case porcupine.Unknown:
		return &Problem{Text: fmt.Sprintf("Unknown: not decided within %v", patience)}
	default:
		return &Problem{Text: fmt.Sprintf("porcupine says %q", result)}
	}
}

// furthest tells where the longest explanation ends that porcupine could find: the
// operation that it can not explain is the first one that is not in it.
func furthest(model porcupine.Model, ops []porcupine.Operation, patience time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(model, ops, patience)
	var longest []int
	for _, partial := range info.PartialLinearizations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	explained := make(map[int]bool)
	state := model.Init()
	for _, i := range longest {
		explained[i] = true
		_, state = model.Step(state, ops[i].Input, ops[i].Output)
	}
	first := -1
	for i := range ops {
		if !explained[i] && (first < 0 || ops[i].Return < ops[first].Return) {
			first = i
		}
	}
	if first < 0 {
		return ""
	}
	return fmt.Sprintf("; after %d of %d steps the model stands at\n\t%s\nand can not explain\n\t[%d %d] %s",
		len(longest), len(ops), model.DescribeState(state), ops[first].Call, ops[first].Return,
		model.DescribeOperation(ops[first].Input, ops[first].Output))
}
