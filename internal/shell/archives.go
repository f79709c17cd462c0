package shell

import (
	"strings"
	"sync"
)

// archives are the commands that unpack: allowed where they list, or print what
// they unpack.
func archives() map[string]rule {
	gzip := `-# -c -d -f -h -k -l -L -n -N -q -r -t -v -V --stdout --to-stdout --decompress --uncompress --force --keep --list --no-name --name --quiet --recursive
		--test --verbose --version --help --fast --best`
	printed := func(instead string) rule {
		return closed(options(gzip), needs(instead, "-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test", "-V", "--version", "--help"))
	}
	listed := closed(options(`-l -v -t -p -c -Z -q -C -1 -2 -h -T -z -P:`), needs("unzip -l FILE", "-l", "-v", "-t", "-p", "-c", "-Z", "-z"))
	return map[string]rule{
		"tar": {tar}, "bsdtar": {tar}, "unzip": listed,
		"gzip": printed("gzip -dc FILE"), "gunzip": printed("gunzip -c FILE"), "bzip2": printed("bzip2 -dc FILE"), "bunzip2": printed("bunzip2 -c FILE"),
		"xz": printed("xz -dc FILE"), "unxz": printed("unxz -c FILE"), "zstd": printed("zstd -dc FILE"), "unzstd": printed("unzstd -c FILE"),
		"zcat": closed(options(gzip), nil), "bzcat": closed(options(gzip), nil), "xzcat": closed(options(gzip), nil), "zstdcat": closed(options(gzip), nil),
		"gzcat": closed(options(gzip), nil),
	}
}

// tarGrammar is what tar takes to list.
var tarGrammar = sync.OnceValue(func() *grammar {
	return options(`-t -v -z -j -J -a -f: -C: -k -p -O -P --list --verbose --gzip --bzip2 --xz --zstd --auto-compress --file: --directory: --wildcards
		--no-wildcards --exclude: --strip-components: --numeric-owner --utc --full-time --force-local --version --help`)
})

// tar is allowed where it lists. Its first word may be options without a dash, and
// an archive with a colon in its name is fetched by a program.
func tar(_ *judge, c call) *refusal {
	words := c.words
	if len(words) > 0 && words[0].whole && words[0].text != "" && words[0].text[0] != '-' {
		words = append([]word{bundle(words[0])}, words[1:]...)
	}
	g := tarGrammar()
	a, r := g.split(call{c.name, words}, false)
	if r != nil {
		return r.or("tar -tf FILE")
	}
	if !a.has("-t", "--list", "--version", "--help") {
		return refuse("tar without -t writes").or("tar -tf FILE")
	}
	for _, f := range a.flags {
		if (f.name == "-f" || f.name == "--file") && (!f.value.whole || strings.Contains(f.value.text, ":")) && !strings.HasPrefix(f.value.text, "/") && !strings.HasPrefix(f.value.text, "./") {
			return refuse("the archive may be one of another machine, which a program would fetch; begin it with ./").or("tar -tf ./FILE")
		}
	}
	return nil
}

// bundle gives the first word of tar its dash. With a value in the middle of a
// bundle the order of the values differs, so that f has to come last.
func bundle(w word) word {
	if i := strings.IndexAny(w.text, "fC"); i >= 0 && i < len(w.text)-1 {
		return word{node: w.node, text: "-?", whole: true}
	}
	return word{node: w.node, text: "-" + w.text, whole: true}
}
