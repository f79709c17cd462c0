package downstream

import (
	"encoding/json"
	"path/filepath"

	strictjson "github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
)

// cached is a list as a server gave it, kept for the next process: tools that were judged,
// so that they need not be again.
type cached struct {
	Format int               `json:"format"`
	Tools  []json.RawMessage `json:"tools"`
	Bad    []Unusable        `json:"bad,omitempty"`
	Cut    string            `json:"cut,omitzero"`
}

const cacheFormat = 1

// cacheFile is where the list of a server is kept: another configuration, or another
// workspace, has another file.
func (s *server) cacheFile() string {
	return filepath.Join(s.options.CacheDir, s.name+"-"+s.key[:16]+".json")
}

// recall returns the list that was kept. A file that cannot be read is none.
func (s *server) recall() (c cached, ok bool) {
	if s.options.CacheDir == "" {
		return c, false
	}
	text, err := private.Read(s.cacheFile(), mostBytes+1<<20)
	if err != nil || strictjson.Unmarshal(text, &c) != nil || c.Format != cacheFormat || len(c.Tools) > mostTools {
		return cached{}, false
	}
	return c, true
}

// keep writes a list down. Without it the next process is slower, and nothing else.
func (s *server) keep(c cached) {
	if s.options.CacheDir == "" {
		return
	}
	c.Format = cacheFormat
	text, err := strictjson.Marshal(c)
	if err == nil {
		err = private.Make(s.options.CacheDir)
	}
	if err == nil {
		err = atomicfile.WriteFile(s.cacheFile(), text, atomicfile.Options{Mode: private.FileMode})
	}
	if err != nil {
		s.options.Logger.Warn("the list of a server's tools is not kept", "server", s.name, "error", err)
	}
}
