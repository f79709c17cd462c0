package presence

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
)

// reviewSuffix marks a session whose host shows a plan that waits for a decision in planloop, so that later hooks see it at the cost of
// one look at a file. A restarted host has no marks.
const reviewSuffix = ".review"

func (b *Registry) reviewFile(chain func() []process.Ancestor, session string) (host folder, path string) {
	host = b.hookFolder(process.Starter(chain()))
	return host, filepath.Join(string(host), hashText(session)+reviewSuffix)
}

// BeginHostReview marks that a plan of the session waits, in the program that started the hook at the end of chain.
func (b *Registry) BeginHostReview(chain func() []process.Ancestor, session string) {
	host, path := b.reviewFile(chain, session)
	if host == "" {
		return
	}
	if err := errors.Join(safefile.MakeFolder(string(b.hooks)), safefile.MakeFolder(string(host)), create(path, 0)); err != nil {
		b.report("mark the review of", session, err)
	}
}

// HasHostReview reports whether a plan of the session is marked.
func (b *Registry) HasHostReview(chain func() []process.Ancestor, session string) bool {
	if b.hooks == "" || session == "" {
		return false
	}
	host, path := b.reviewFile(chain, session)
	_, err := os.Lstat(path)
	return host != "" && err == nil
}

// EndHostReview removes the session's mark.
func (b *Registry) EndHostReview(chain func() []process.Ancestor, session string) {
	if host, path := b.reviewFile(chain, session); host != "" {
		_ = os.Remove(path) // it may be gone
	}
}
