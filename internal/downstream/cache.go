package downstream

import (
	"encoding/json"
	"path/filepath"

	strictjson "github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safefile"
)

// cached is a server's list, kept for the next process. Its tools were checked and need not be checked again.
type cached struct {
	Format int               `json:"format"`
	Tools  []json.RawMessage `json:"tools"`
	Bad    []Unusable        `json:"bad,omitempty"`
	Cut    string            `json:"cut,omitzero"`
}

const cacheFormat = 1

// cacheFile returns the path of a server's cached list. Each configuration and each workspace has its own
// file.
func (s *server) cacheFile() string {
	return filepath.Join(s.options.CacheDir, s.name+"-"+s.key[:16]+".json")
}

// readCache returns the cached list. An unreadable file counts as missing.
func (s *server) readCache() (c cached) {
	if s.options.CacheDir == "" {
		return c
	}
	text, err := safefile.Read(s.cacheFile(), maxListBytes+1<<20)
	if err != nil || strictjson.Unmarshal(text, &c) != nil || c.Format != cacheFormat || len(c.Tools) > maxTools {
		return cached{}
	}
	return c
}

// writeCache caches a list. If that fails, only the start of the next process is slower.
func (s *server) writeCache(c cached) {
	if s.options.CacheDir == "" {
		return
	}
	c.Format = cacheFormat
	text, err := strictjson.Marshal(c)
	if err == nil {
		err = safefile.MakeFolder(s.options.CacheDir)
	}
	if err == nil {
		err = safefile.WriteFile(s.cacheFile(), text, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		s.options.Logger.Warn("the list of a server's tools is not kept", "server", s.name, "error", err)
	}
}
