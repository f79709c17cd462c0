package workspace

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// pathOfURI returns the local path that a file:// URI names. Other schemes and
// other machines name nothing that this process can read.
func pathOfURI(uri string) (string, bool) {
	parsed, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(parsed.Scheme, "file") || parsed.Opaque != "" {
		return "", false
	}
	return localPath(parsed.Host, parsed.Path, runtime.GOOS == "windows")
}

func localPath(host, path string, windows bool) (string, bool) {
	remote := host != "" && !strings.EqualFold(host, "localhost")
	if strings.ContainsRune(path, 0) || !strings.HasPrefix(path, "/") || remote && !windows {
		return "", false
	}
	if !windows {
		return path, true
	}
	if remote {
		return filepath.FromSlash("//" + host + path), true
	}
	return filepath.FromSlash(strings.TrimPrefix(path, "/")), true // /C:/code is C:\code
}
