package runnable

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/planloop/planloop/plan"
)

// bounds walks through a condition before it is compiled. It allows only operations that are cheap,
// deterministic and report their errors: no functions that make large values from small ones, no
// variables, sums of numbers only, constant patterns, counted loops, existing fields.
type bounds struct {
	Condition
	refused error
	alone   int // uses of steps without naming one of them
}

// functions lists the allowed functions.
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
		b.refuse(n, "it names "+plan.Quote(n.Value)+", which is unknown", "name steps.S001.value, .ok, .status or .output, or item")
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
	if of, is := n.Node.(*ast.MemberNode); is && named(of.Node, "steps") {
		if !constant || !slices.Contains([]string{"value", "ok", "status", "output"}, property.Value) {
			b.refuse(n, "a step has only value, ok, status and output", "write fields of its value as steps.S001.value.count")
		}
		return
	}
	if n.Optional {
		ast.Patch(node, call("a field that may be missing", n.Node, n.Property))
		return
	}
	ast.Patch(node, call("a field", n.Node, n.Property))
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
