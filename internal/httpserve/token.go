package httpserve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// checkToken refuses a token that a client could not send in a header.
func checkToken(token string) error {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return errors.New("the token holds a character that an Authorization header cannot carry; use letters, digits and -._~+/=")
		}
	}
	return nil
}

// hasToken tells whether the request carries the token, in a time that does
// not depend on how much of it is right.
func hasToken(r *http.Request, token string) bool {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return false
	}
	scheme, sent, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	got, want := sha256.Sum256([]byte(strings.TrimSpace(sent))), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
