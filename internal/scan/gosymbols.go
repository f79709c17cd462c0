package scan

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
)

// goPackage gathers what the files of one folder export and how it hangs
// together: a type is tested as well when a test calls what yields it.
type goPackage struct {
	exports []goExport
	covers  map[string][]string // the types that a function, method or type names, by its key
}

type goExport struct {
	file     string
	symbol   symbol
	key      string // the name, of methods with the type before it
	receiver string // the type of a method
	isType   bool
}

func newGoPackage() *goPackage { return &goPackage{covers: map[string][]string{}} }

// add reads the declarations of a file. What does not parse has no exports as far
// as can be told.
func (p *goPackage) add(name string, source []byte) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, withoutBodies(source), parser.SkipObjectResolution)
	if err != nil { // a text in a function may look like its end
		file, err = parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	}
	if err != nil {
		return
	}
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			p.addFunc(set, name, d)
		case *ast.GenDecl:
			p.addTypes(set, name, d)
		}
	}
}

// withoutBodies returns gofmt'ed source with empty lines for what functions do,
// which takes half the time of reading it.
func withoutBodies(source []byte) []byte {
	declarations := make([]byte, 0, len(source))
	inBody := false
	for line := range bytes.Lines(source) {
		text := bytes.TrimRight(line, "\r\n")
		if inBody = inBody && !bytes.HasPrefix(text, []byte("}")); inBody {
			declarations = append(declarations, '\n')
			continue
		}
		declarations = append(declarations, line...)
		inBody = bytes.HasSuffix(text, []byte("{")) && (bytes.HasPrefix(text, []byte("func ")) || text[0] == ')')
	}
	return declarations
}

func (p *goPackage) addFunc(set *token.FileSet, file string, d *ast.FuncDecl) {
	receiver := receiverOf(d)
	key := d.Name.Name
	if d.Recv != nil {
		if !ast.IsExported(receiver) || wellKnown(d.Name.Name) {
			return
		}
		key = receiver + "." + key
	}
	if !d.Name.IsExported() {
		return
	}
	p.covers[key] = append(typesIn(d.Type), receiver)
	p.exports = append(p.exports, goExport{file: file, symbol: symbolAt(set, d.Name, d), key: key, receiver: receiver})
}

func (p *goPackage) addTypes(set *token.FileSet, file string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		p.covers[t.Name.Name] = typesIn(t.Type)
		if _, empty := t.Type.(*ast.InterfaceType); empty || !t.Name.IsExported() || t.Assign.IsValid() {
			continue // nothing in it runs
		}
		p.exports = append(p.exports, goExport{file: file, symbol: symbolAt(set, t.Name, t), key: t.Name.Name, isType: true})
	}
}

// untested returns the exports that no test names, by file. A type counts as
// named by what leads to it: a method, a function, another type that tests reach.
func (p *goPackage) untested(tests *mentions) map[string][]symbol {
	reached := p.reached(tests)
	files := map[string][]symbol{}
	for _, e := range p.exports {
		if tests.has(e.symbol.name) || e.isType && reached[e.key] {
			continue
		}
		if s := e.symbol; len(files[e.file]) < maxSymbols {
			s.name = e.key
			files[e.file] = append(files[e.file], s)
		}
	}
	return files
}

func (p *goPackage) reached(tests *mentions) map[string]bool {
	reached := map[string]bool{}
	var queue []string
	for _, e := range p.exports {
		if tests.has(e.symbol.name) {
			queue = append(queue, e.key)
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		for _, name := range p.covers[key] {
			if name != "" && !reached[name] {
				reached[name] = true
				queue = append(queue, name)
			}
		}
	}
	return reached
}

func symbolAt(set *token.FileSet, name *ast.Ident, node ast.Node) symbol {
	from, to := set.Position(node.Pos()).Line, set.Position(node.End()).Line
	return symbol{name: name.Name, line: from, lines: to - from + 1}
}

func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	switch t := baseType(d.Recv.List[0].Type).(type) {
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func baseType(e ast.Expr) ast.Expr {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		default:
			return e
		}
	}
}

// typesIn returns the identifiers in a type: those of other packages and of
// fields are among them, and do no harm.
func typesIn(node ast.Node) []string {
	var names []string
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// wellKnown reports methods that are called through an interface of the standard
// library, so that no test names them.
func wellKnown(method string) bool {
	switch method {
	case "String", "GoString", "Format", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "MarshalYAML", "UnmarshalYAML":
		return true
	}
	return false
}
