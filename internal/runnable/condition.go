package runnable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
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
		return nil, plan.Refuse(plan.InvalidInput, "", "the condition cannot be read: "+messageOf(err), example)
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

// messageOf returns expr's message with its position.
func messageOf(err error) string {
	at, ok := errors.AsType[*file.Error](err)
	if !ok {
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

// ConditionFails begins the error about a condition that cannot be evaluated.
const ConditionFails = "the condition"

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
		return false, fmt.Errorf("%s %s cannot be evaluated: %s", ConditionFails, plan.Quote(c.text), messageOf(err))
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
	case string:
		if name == textJSON {
			return readText(of)
		}
	}
	return nil, fmt.Errorf("field %s cannot be read from %s", plan.Quote(fmt.Sprint(name)), kind(of))
}

// textJSON is the name by which a condition reaches into a text that is JSON.
const textJSON = "json"

func readText(text string) (read any, err error) {
	value, err := plan.ParseText(text)
	if err == nil {
		err = json.Unmarshal(value, &read)
	}
	return read, err
}

// maybe is field with null for a missing one.
func maybe(of, name any) (any, error) {
	found, _ := field(of, name)
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

// bounds walks through a condition before it is compiled. It allows only operations that are cheap,
// deterministic and report their errors: no functions that make large values from small ones, no
// variables, sums of numbers only, constant patterns, counted loops, existing fields.
type bounds struct {
	Condition
	refused error
	alone   int // uses of steps without naming one of them
}

func functions() []string {
	return strings.Fields("len any all none one count filter find first last sum min max abs ceil floor round int float string " +
		"trim lower upper hasPrefix hasSuffix indexOf")
}

func (b *bounds) refuse(at ast.Node, problem, fix string) {
	if b.refused == nil {
		problem += ", at character " + strconv.Itoa(at.Location().From+1)
		b.refused = plan.Refuse(plan.InvalidInput, "", "the condition cannot be used: "+problem, fix)
	}
}

// Visit handles a node, after its children.
func (b *bounds) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		b.name(node, n)
	case *ast.MemberNode:
		b.member(node, n)
	case *ast.BuiltinNode:
		if !slices.Contains(functions(), n.Name) {
			b.refuse(n, "the function "+plan.Quote(n.Name)+" is not offered", "use one of "+strings.Join(functions(), ", "))
		}
	case *ast.CallNode:
		b.refuse(n, "only functions of the language can be called", "use one of "+strings.Join(functions(), ", "))
	case *ast.VariableDeclaratorNode:
		b.refused = nil // replaces the error about its use, where it is unknown
		b.refuse(n, "it has a variable", "write it without")
	case *ast.PredicateNode:
		n.Node = call("a turn of a loop", n.Node)
	case *ast.BinaryNode:
		b.operator(node, n)
	}
}

func (b *bounds) name(node *ast.Node, n *ast.IdentifierNode) {
	switch n.Value {
	case "steps":
		b.alone++
	case "item":
		b.item = true
	case "null":
		ast.Patch(node, &ast.NilNode{})
	default:
		b.refuse(n, "it names "+plan.Quote(n.Value)+", which is unknown", "name steps.S001.value, .json, .ok, .status or .output, or item")
	}
}

// member leaves steps.S001.ok as it is, and turns any access to a part of a value into a checked call.
func (b *bounds) member(node *ast.Node, n *ast.MemberNode) {
	property, constant := n.Property.(*ast.StringNode)
	if named(n.Node, "steps") {
		if b.alone--; constant {
			if id, err := plan.ParseStepID(property.Value); err == nil && id.String() == property.Value {
				b.steps[id] = true
				return
			}
		}
		b.refuse(n, "it names no step", "name one as in steps.S001.ok")
		return
	}
	of := n.Node
	if parent, is := of.(*ast.MemberNode); is && named(parent.Node, "steps") {
		switch {
		case constant && property.Value == textJSON: // steps.S001.json is steps.S001.value.json
			value := &ast.MemberNode{Node: parent, Property: &ast.StringNode{Value: "value"}}
			value.SetLocation(n.Location())
			of = value
		case !constant || !slices.Contains([]string{"value", "ok", "status", "output"}, property.Value):
			b.refuse(n, "a step has only value, json, ok, status and output", "write fields of its value as steps.S001.value.count")
			return
		default:
			return
		}
	}
	read := "a field"
	if n.Optional {
		read = "a field that may be missing"
	}
	ast.Patch(node, call(read, of, n.Property))
}

func named(node ast.Node, name string) bool {
	identifier, is := node.(*ast.IdentifierNode)
	return is && identifier.Value == name
}

func call(function string, arguments ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: arguments}
}

func (b *bounds) operator(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "+":
		ast.Patch(node, call("a sum", n.Left, n.Right))
	case "matches":
		if pattern, constant := n.Right.(*ast.StringNode); !constant {
			b.refuse(n, "it matches a pattern that is not written down in it", "write the pattern in quotes, or use contains")
		} else if b.pattern(pattern) {
			ast.Patch(node, call("a match", n.Left, n.Right))
		}
	case "==", "!=", "in":
		if isStatus(n.Left) {
			b.status(n.Right)
		} else if isStatus(n.Right) {
			b.status(n.Left)
		}
	}
}

// maxStates bounds a pattern by the size of its compiled form.
const maxStates = 2_000

// pattern is a regular expression with its number of states, the cost per character.
type pattern struct {
	*regexp.Regexp
	states int
}

func (b *bounds) pattern(n *ast.StringNode) bool {
	compiled, err := regexp.Compile(n.Value)
	if err != nil {
		b.refuse(n, plan.Shorten(err.Error(), 200), "mend the pattern, or use contains")
		return false
	}
	parsed, _ := syntax.Parse(n.Value, syntax.Perl) // it parsed above
	program, _ := syntax.Compile(parsed.Simplify())
	if len(program.Inst) > maxStates {
		b.refuse(n, "the pattern is too large", "simplify it, or use contains")
	}
	b.patterns[n.Value] = pattern{compiled, len(program.Inst)}
	return true
}

func isStatus(node ast.Node) bool {
	member, is := node.(*ast.MemberNode)
	if !is {
		return false
	}
	property, is := member.Property.(*ast.StringNode)
	return is && property.Value == "status" // of a step: accesses to values are not members any more
}

// status replaces the words that a status is compared with by our own.
func (b *bounds) status(node ast.Node) {
	switch n := node.(type) {
	case *ast.StringNode:
		status := plan.ReadStatus(n.Value)
		if status == "" {
			b.refuse(n, plan.Quote(n.Value)+" is not a status", "use one of "+strings.Join(status.Values(), ", "))
		}
		n.Value = string(status)
	case *ast.ArrayNode:
		for _, one := range n.Nodes {
			b.status(one)
		}
	}
}
