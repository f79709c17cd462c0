package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// file is a file of the page. It contains no secret.
type file struct {
	content     []byte
	contentType string
	zipped      func() []byte // made once
}

// readFiles reads the files of the page, by path.
func readFiles(read func(name string) ([]byte, string, bool)) (map[string]*file, error) {
	files := map[string]*file{}
	for path, name := range map[string]string{"/": "index.html", "/page.js": "page.js", "/page.css": "page.css", "/graph.js": "graph.js",
		"/icon.svg": "icon.svg"} {
		content, contentType, ok := read(name)
		if !ok {
			return nil, fmt.Errorf("the page lacks its file %s", name)
		}
		files[path] = &file{content: content, contentType: contentType, zipped: sync.OnceValue(func() []byte { return zip(content) })}
	}
	return files, nil
}

func zip(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a valid level
	_, _ = w.Write(content)                                 // to memory: cannot fail
	_ = w.Close()
	return out.Bytes()
}

// serve sends a file of the page.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, f *file) {
	if err := checkGet(w, r); err != nil {
		s.refuse(w, r, err)
		return
	}
	content := f.content
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") { // browsers never refuse it with q=0
		w.Header().Set("Content-Encoding", "gzip")
		content = f.zipped()
	}
	w.Header().Set("Content-Type", f.contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that has gone needs no answer
}

// checkGet refuses other methods, and a body: left unread, it keeps net/http from noticing that a client has gone.
func checkGet(w http.ResponseWriter, r *http.Request) error {
	if err := checkMethod(w, r, http.MethodGet); err != nil {
		return err
	}
	if r.ContentLength != 0 {
		return &refusal{Kind: wrongForm, Problem: "GET must not have a body", Fix: "send none"}
	}
	return nil
}

func checkMethod(w http.ResponseWriter, r *http.Request, method string) error {
	if r.Method == method {
		return nil
	}
	w.Header().Set("Allow", method)
	return &refusal{Kind: wrongMethod, Problem: "this path does not accept this method", Fix: "send " + method}
}
