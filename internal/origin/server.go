package origin

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
)

// WriteTimeout bounds one write to a client that does not read.
const WriteTimeout = 30 * time.Second

// NewServer returns an HTTP server with limits on headers and idle clients.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16<<10 - 4<<10, // net/http reads 4 KB more
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// LimitWrite gives the following writes to a client a fresh time limit.
func LimitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(WriteTimeout)) // writers in tests have no deadlines
}

// ErrNotJSON reports a body of another type. A page may send text and forms anywhere without a preflight, but not JSON, so any
// other type could come from a page that was never allowed.
var ErrNotJSON = errors.New("the body is not JSON in UTF-8")

// ReadJSON reads a JSON body of at most limit bytes in the given time, which covers only the body: the answer may be a long
// stream. It reads a body that announces to be longer up to the limit, because a client that gets its answer while it still sends
// may see only a reset connection. Its errors include ErrNotJSON, *http.MaxBytesError and os.ErrDeadlineExceeded.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	if !isJSON(r) {
		return nil, ErrNotJSON
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(timeout)) // writers in tests have no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err // the deadline stays, or net/http would wait for the rest of the body
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

func isJSON(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	known := !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
	return err == nil && mediaType == "application/json" && known
}
