package presence

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
)

// ancestry is a server's chain of processes, its own first.
type ancestry struct {
	Chain []process.Ancestor `json:"chain"`
	HTTP  string             `json:"http,omitzero"` // the workspace that it serves over HTTP: its clients need not run above it
}

// AnnounceProgram records that the first process of a chain is a server of planloop. A hook of the same host then knows that the host's
// server named planloop is this program. It is called before the server's workspace is known, because the first call already has a hook.
// Without the state home, which only a change creates, it fails with fs.ErrNotExist.
func AnnounceProgram(stateHome string, chain []process.Ancestor, http string) error {
	if _, err := os.Lstat(stateHome); err != nil || len(chain) == 0 {
		return err
	}
	programs := subfolder(stateHome, programsName)
	if err := safefile.MakeFolder(string(programs)); err != nil {
		return err
	}
	entries, _ := os.ReadDir(string(programs))
	for _, entry := range entries {
		if !processOf(entry.Name()).Runs() {
			_ = os.Remove(filepath.Join(string(programs), entry.Name())) // retried by the next server
		}
	}
	return programs.put(nameOf(chain[0]), ancestry{chain, http})
}

const programsName = "programs" // the folder, next to those of the workspaces, for servers' announcements

// HasServer reports whether the host that started the hook at the end of chain has a living server of planloop, or one serves the
// workspace over HTTP.
func HasServer(stateDir string, chain []process.Ancestor) bool {
	programs := subfolder(filepath.Dir(stateDir), programsName)
	entries, _ := os.ReadDir(string(programs)) // it exists once a server was announced
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		var a ancestry
		if !processOf(entry.Name()).Runs() || !programs.get(entry.Name(), &a) || len(a.Chain) == 0 {
			return false
		}
		return a.HTTP == filepath.Base(stateDir) || a.HTTP == "" && isSameHost(chain, a.Chain)
	})
}

// isSameHost reports whether one program started both the hook and the server. Only shells may be between it and the hook; a wrapper
// such as npx may start the server. An editor starts both through processes of its own name. Without a common process, as where the host
// is process 1, both have only shells above.
func isSameHost(hook, server []process.Ancestor) bool {
	direct := func(between []process.Ancestor, host string) bool {
		return !slices.ContainsFunc(between, func(p process.Ancestor) bool { return !p.Shell() && p.Name != host })
	}
	for i, p := range hook[min(1, len(hook)):] {
		if at := slices.IndexFunc(server[1:], p.Is); at >= 0 {
			return !p.Shell() && direct(hook[1:1+i], p.Name) && (!p.Shared() || direct(server[1:1+at], p.Name))
		}
	}
	return len(hook) > 0 && direct(hook[1:], "") && direct(server[1:], "")
}
