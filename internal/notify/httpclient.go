package notify

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// guarded returns a client that follows no redirect to another place and keeps no
// cookies.
func guarded(given *http.Client) *http.Client {
	client := http.Client{Transport: transport()}
	if given != nil {
		client = *given
	}
	client.CheckRedirect = samePlace
	client.Jar = nil
	client.Timeout = 0 // that of the configuration counts
	return &client
}

// maxHeader bounds the header of an answer.
const maxHeader = 64 << 10

// transport keeps no connection: notices are rare, and nothing should outlive them.
func transport() *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
	}
}

// redirected says that an endpoint wanted the notice sent elsewhere. It does not
// say where: what an endpoint answers is not shown.
type redirected struct{}

// Error says that there was a redirect.
func (*redirected) Error() string { return "redirected to another place" }

const maxRedirects = 3

// samePlace lets a redirect pass that keeps scheme, host, port and method. The
// standard client would send headers on to another port, to a subdomain and over
// a connection that is not encrypted, and would drop the body where the method
// changes.
func samePlace(next *http.Request, via []*http.Request) error {
	first := via[0]
	same := next.URL.Scheme == first.URL.Scheme && strings.EqualFold(next.URL.Host, first.URL.Host) && next.Method == first.Method
	if same && len(via) <= maxRedirects {
		return nil
	}
	return &redirected{}
}
