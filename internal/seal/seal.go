// Package seal seals the state of a request for a person's decision while it
// travels through a client, which may be anybody's. What comes back is believed only
// when it was sealed with the key of this workspace, for the same call and content, and not too
// long ago. That it counts once is for the log to say: a decision closes its request.
//
// It must not know what is decided, nor how it is asked.
package seal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
)

// Claims is what a token says.
type Claims struct {
	By        string    `json:"by"`        // the caller
	Tool      string    `json:"tool"`      // the call that asked
	Arguments string    `json:"arguments"` // Fingerprint of its arguments
	Request   string    `json:"request,omitempty"`
	Question  string    `json:"question,omitempty"`
	Step      string    `json:"step,omitempty"`   // that asks, with Digest of what it would run
	Digest    string    `json:"digest,omitempty"` // of what was shown
	Expires   time.Time `json:"expires"`
}

// ErrInvalid says that a token was not sealed here, or was changed on its way.
var ErrInvalid = errors.New("the request's state is not one that planloop gave out")

// ErrExpired says that a token is too old.
var ErrExpired = errors.New("the request's state has expired")

// maxToken bounds what is looked at.
const maxToken = 4 << 10

// Sealer seals and opens tokens with one key.
type Sealer struct{ key []byte }

// keyFile holds the key, in the folder of the workspace's state.
const keyFile = "approval.key"

const keySize = 32

// New returns a sealer with a key of its own, which ends with the process.
func New() (*Sealer, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Sealer{key}, nil
}

// Open returns a sealer with the key in dir, which all servers on a workspace share;
// it is made when there is none.
func Open(dir string) (*Sealer, error) {
	path := filepath.Join(dir, keyFile)
	for range 2 {
		key, err := private.Read(path, keySize+1)
		if err == nil && len(key) == keySize {
			return &Sealer{key}, nil
		}
		if err == nil {
			return nil, fmt.Errorf("%s is not a key; remove it", path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the approval key: %w", err)
		}
		if err := makeKey(dir, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the approval key: %w", err)
		}
	}
	return nil, fmt.Errorf("read the approval key: %s keeps disappearing", path)
}

// makeKey puts a new key in place, whole, unless another process was first.
func makeKey(dir, path string) error {
	if err := private.Make(dir); err != nil {
		return err
	}
	fresh, err := New()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, fresh.key, atomicfile.Options{Mode: private.FileMode, New: true})
}

// Seal returns the claims as a token.
func (s *Sealer) Seal(c Claims) (string, error) { return s.SealAs("request", c) }

// Unseal returns what a token says. The error is ErrInvalid, or ErrExpired at now, with
// the claims: what has expired may be asked again.
func (s *Sealer) Unseal(token string, now time.Time) (Claims, error) {
	var c Claims
	if err := s.UnsealAs("request", token, maxToken, &c); err != nil {
		return Claims{}, err
	}
	if !now.Before(c.Expires) {
		return c, ErrExpired
	}
	return c, nil
}

// SealAs returns what v says, as JSON, in a token that is good for one purpose alone.
func (s *Sealer) SealAs(purpose string, v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac(purpose, text)), nil
}

// UnsealAs fills into with what a token of at most max bytes says. The error is
// ErrInvalid; whether it still holds is for the caller to judge.
func (s *Sealer) UnsealAs(purpose, token string, max int, into any) error {
	text, seal, ok := strings.Cut(token, ".")
	if !ok || len(token) > max {
		return ErrInvalid
	}
	// The seal is compared as it is written: base64 has several ways to write the same bytes.
	if !hmac.Equal([]byte(seal), []byte(base64.RawURLEncoding.EncodeToString(s.mac(purpose, text)))) {
		return ErrInvalid
	}
	body, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || json.Unmarshal(body, into) != nil {
		return ErrInvalid
	}
	return nil
}

func (s *Sealer) mac(purpose, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("planloop " + purpose + " v1\n" + text))
	return mac.Sum(nil)
}

// Fingerprint identifies the arguments of a call.
func Fingerprint(arguments []byte) string {
	sum := sha256.Sum256(arguments)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
