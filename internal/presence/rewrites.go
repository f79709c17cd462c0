package presence

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/process"
)

// Files in the folder of a program's signs: one says that its settings let hooks change calls when it started. Per agent and permission
// mode one has the hash of a mark in its name until a changed call brings that mark, and then says that the mark has arrived.
const (
	rewritableFile = "rewritable"
	markSuffix     = ".mark"
	arrivedSuffix  = ".arrived"
)

// AllowRewrites records that the settings of the program that started this hook let planloop's hooks change calls.
func (b *Registry) AllowRewrites(chain func() []process.Ancestor) {
	if f := b.hookFolder(process.Starter(chain())); f != "" {
		_ = create(filepath.Join(string(f), rewritableFile), 0) // else no call is changed
	}
}

// Rewrites reports whether calls may be changed at all, and whether the last mark for calls of this kind has arrived, so that the host
// carries out changed calls.
func (b *Registry) Rewrites(chain func() []process.Ancestor, calls string) (allowed, arrived bool) {
	f := b.hookFolder(process.Starter(chain()))
	return f != "" && f.has(rewritableFile), f != "" && f.has(hashText(calls)+arrivedSuffix)
}

// NewMark returns a mark for a call that a hook is about to change, and forgets the last one. isUnproved says that the change does no harm
// if the host drops it; otherwise the last mark must have arrived. It returns "" if the call must not be changed.
func (b *Registry) NewMark(chain func() []process.Ancestor, calls string, isUnproved bool) string {
	f := b.hookFolder(process.Starter(chain()))
	if f == "" || !f.has(rewritableFile) {
		return ""
	}
	kind := filepath.Join(string(f), hashText(calls))
	if os.Remove(kind+arrivedSuffix) != nil && !isUnproved { // or another call has taken it
		return ""
	}
	waiting, _ := filepath.Glob(filepath.Join(string(f), "*"+markSuffix))
	old, _ := filepath.Glob(kind + ".*" + markSuffix)
	for _, name := range old {
		_ = os.Remove(name) // without the file its mark cannot arrive
	}
	mark := rand.Text()
	if len(waiting) > maxAnnounced || create(kind+"."+hashText(mark)+markSuffix, os.O_EXCL) != nil {
		return ""
	}
	return mark
}

// MarkArrived records that a changed call has brought its mark. Only the hash is on disk: no program can bring a mark that it was not
// given.
func (b *Registry) MarkArrived(chain func() []process.Ancestor, mark string) {
	f := b.hookFolder(process.Starter(chain()))
	found, _ := filepath.Glob(filepath.Join(string(f), "*."+hashText(mark)+markSuffix))
	for _, name := range found {
		kind := name[:len(name)-len("."+hashText(mark)+markSuffix)]
		_ = os.Rename(name, kind+arrivedSuffix)
	}
}
