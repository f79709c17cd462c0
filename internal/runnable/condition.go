package runnable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/planloop/planloop/plan"
)

// Limits on the cost of a condition.
const (
	maxValues  = 2 << 20     // bytes of the values that it reads
	maxNodes   = 200         // of its syntax tree
	maxTurns   = 1_000_000   // of its loops
	maxEntries = 100_000     // in lists that it makes
	maxMatch   = 1 << 26     // of its patterns: states times characters
	maxTime    = time.Second // checked at each turn of a loop
)

const example = "write one such as steps.S001.ok && steps.S001.value.count > 3"

// Condition is a condition that can be evaluated.
type Condition struct {
	text     string
	program  *vm.Program
	steps    map[plan.StepID]bool
	item     bool
	patterns map[string]pattern
}

// Compile reads a condition. The error is a *plan.ValidationError without a field.
func Compile(text string) (c *Condition, err error) {
	canonical := plan.Spec{When: text}.LinkReferences(nil)
	b := &bounds{Condition: Condition{text: text, steps: map[plan.StepID]bool{}, patterns: map[string]pattern{}}}
	defer func() {
		if broken := recover(); broken != nil { // expr is third-party code and reads untrusted text
			c, err = nil, plan.Refuse(plan.InvalidInput, "", "the condition cannot be read", example)
		}
	}()
	b.program, err = expr.Compile(canonical.When, expr.Env(world{}), expr.MaxNodes(maxNodes), expr.Optimize(false),
		expr.Patch(b))
	switch {
	case err != nil && strings.Contains(err.Error(), "maximum allowed nodes"):
		return nil, plan.Refuse(plan.InvalidInput, "", "the condition is too long", "shorten it, or have a step compute it")
	case b.refused != nil:
		return nil, b.refused
	case err != nil:
		return nil, plan.Refuse(plan.InvalidInput, "", "the condition cannot be read: "+told(err), example)
	}
	if result := b.program.Node().Type(); b.alone > 0 {
		return nil, plan.Refuse(plan.InvalidInput, "", "the condition cannot be used: it is about all steps at once", example)
	} else if result != nil && result.Kind() != reflect.Bool && result.Kind() != reflect.Interface {
		return nil, plan.Refuse(plan.InvalidInput, "", "the condition is neither true nor false but "+
			plan.Shorten(result.String(), 40), example)
	}
	for id := range b.steps {
		if !slices.Contains(canonical.ReferencedSteps(), id) {
			return nil, plan.Refuse(plan.InvalidInput, "", "the condition refers to "+id.String()+" in an unusual way", example)
		}
	}
	return &b.Condition, nil
}

// told returns expr's message with its position.
func told(err error) string {
	var at *file.Error
	if !errors.As(err, &at) {
		return plan.Shorten(err.Error(), 200)
	}
	return fmt.Sprintf("%s, at character %d", plan.Shorten(at.Message, 200), at.Column+1)
}

// Steps lists the steps that the condition refers to.
func (c *Condition) Steps() []plan.StepID { return slices.Sorted(maps.Keys(c.steps)) }

// UsesItem reports whether the condition refers to the entry of a loop.
func (c *Condition) UsesItem() bool { return c.item }

// ConditionSource is the part of a step that a condition can see.
type ConditionSource struct {
	Value  json.RawMessage // nil: null
	OK     bool
	Status plan.StepStatus
	Output string
}

// Holds evaluates the condition. sources must have each of its steps; item is the entry of the
// loop, nil outside of one.
func (c *Condition) Holds(ctx context.Context, sources map[plan.StepID]ConditionSource, item json.RawMessage) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	w := world{Steps: map[string]step{}, evaluation: &evaluation{ctx: ctx, patterns: c.patterns}}
	for _, id := range c.Steps() {
		from, known := sources[id]
		if !known {
			return false, fmt.Errorf("the condition needs %s, of which nothing is known", id)
		}
		value, err := w.read(from.Value)
		if err != nil {
			return false, fmt.Errorf("the condition cannot use the value of %s: %w", id, err)
		}
		w.Steps[id.String()] = step{Value: value, OK: from.OK, Status: string(from.Status), Output: from.Output}
	}
	if c.item && item == nil {
		return false, errors.New("the condition uses item, which exists only in a loop")
	}
	var err error
	if w.Item, err = w.read(item); err != nil {
		return false, fmt.Errorf("the condition cannot use the item: %w", err)
	}
	machine := vm.VM{MemoryBudget: maxEntries}
	result, err := machine.Run(c.program, w.env())
	if err != nil {
		return false, fmt.Errorf("the condition %s cannot be evaluated: %s", plan.Quote(c.text), told(err))
	}
	holds, is := result.(bool)
	if !is {
		return false, fmt.Errorf("the condition %s is neither true nor false but %s", plan.Quote(c.text), kind(result))
	}
	return holds, nil
}

// world is everything that a condition can name. The functions implement operations of the
// language, under names that cannot be written in it.
type world struct {
	Steps map[string]step `expr:"steps"`
	Item  any             `expr:"item"`

	Field   func(of, name any) (any, error)       `expr:"a field"`
	Maybe   func(of, name any) (any, error)       `expr:"a field that may be missing"`
	Sum     func(left, right any) (any, error)    `expr:"a sum"`
	Matches func(text, pattern any) (bool, error) `expr:"a match"`
	Turn    func(result any) (any, error)         `expr:"a turn of a loop"`

	*evaluation `expr:"-"`
}

// step is a Source as the language sees it.
type step struct {
	Value  any    `expr:"value"`
	OK     bool   `expr:"ok"`
	Status string `expr:"status"`
	Output string `expr:"output"`
}

func (w world) env() world {
	w.Field, w.Maybe, w.Sum, w.Matches, w.Turn = field, maybe, sum, w.matches, w.turn
	return w
}

// evaluation counts the cost of one evaluation.
type evaluation struct {
	ctx      context.Context
	patterns map[string]pattern
	values   int
	turns    int
	matched  int
}

func (e *evaluation) read(value json.RawMessage) (any, error) {
	if len(value) == 0 {
		return nil, nil
	}
	if e.values += len(value); e.values > maxValues {
		return nil, fmt.Errorf("a condition looks at %d MiB at most", maxValues>>20)
	}
	var read any
	err := json.Unmarshal(value, &read)
	return read, err
}

func (e *evaluation) turn(result any) (any, error) {
	if e.turns++; e.turns > maxTurns || e.ctx.Err() != nil {
		return nil, errors.New("it takes too long")
	}
	return result, nil
}

func (e *evaluation) matches(text, written any) (bool, error) {
	subject, is := text.(string)
	if !is {
		return false, fmt.Errorf("only text can match a pattern, not %s", kind(text))
	}
	known := e.patterns[fmt.Sprint(written)]
	if e.matched += len(subject) * known.states; e.matched > maxMatch {
		return false, errors.New("the text is too long for that pattern")
	}
	return known.MatchString(subject), nil
}

func sum(left, right any) (any, error) {
	a, isA := number(left)
	b, isB := number(right)
	if !isA || !isB {
		return nil, fmt.Errorf("only numbers can be added, not %s and %s", kind(left), kind(right))
	}
	return a + b, nil
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// field returns a field of an object, or an entry of a list.
func field(of, name any) (any, error) {
	switch of := of.(type) {
	case map[string]any:
		if found, ok := of[fmt.Sprint(name)]; ok {
			return found, nil
		}
		return nil, fmt.Errorf("field %s does not exist; if it may be missing, write ?. before it", plan.Quote(fmt.Sprint(name)))
	case []any:
		n, is := number(name)
		i := int(n)
		if is && i < 0 {
			i += len(of)
		}
		if !is || n != float64(int(n)) || i < 0 || i >= len(of) {
			return nil, fmt.Errorf("entry [%v] does not exist in a list of %d", name, len(of))
		}
		return of[i], nil
	}
	return nil, fmt.Errorf("field %s cannot be read from %s", plan.Quote(fmt.Sprint(name)), kind(of))
}

// maybe is field with null for a missing one.
func maybe(of, name any) (any, error) {
	found, err := field(of, name)
	if err != nil {
		return nil, nil
	}
	return found, nil
}

// kind describes the kind of a value in a word or two.
func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case float64, int:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
