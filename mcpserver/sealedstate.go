package mcpserver

import (
	"bytes"
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

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/safefile"
)

// SealClaims is the content of a token.
type SealClaims struct {
	By        string    `json:"by"`        // the caller
	Log       string    `json:"log"`       // see verbs.Service.LogID
	Tool      string    `json:"tool"`      // the call that asked
	Arguments string    `json:"arguments"` // Fingerprint of its arguments
	Request   string    `json:"request,omitempty"`
	Question  string    `json:"question,omitempty"`
	Step      string    `json:"step,omitempty"`   // that asks, with Digest of its call
	Digest    string    `json:"digest,omitempty"` // of the content shown
	Expires   time.Time `json:"expires"`
}

// ErrInvalid says that a token was not sealed here, or was changed.
var ErrSealInvalid = errors.New("planloop did not issue the request's state")

// maxToken is the size limit of a token, in bytes.
const maxToken = 4 << 10

// Sealer seals and opens tokens with one key.
type Sealer struct{ key []byte }

// keyFile contains the key, in the state folder of the workspace.
const keyFile = "approval.key"

const keySize = 32

// NewSealer returns a sealer with a random key that is lost with the process.
func NewSealer() (*Sealer, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Sealer{key}, nil
}

// OpenSealer returns a sealer with the key in dir, which all servers on a workspace share. It creates the key if necessary.
func OpenSealer(dir string) (*Sealer, error) {
	path := filepath.Join(dir, keyFile)
	for range 2 {
		key, err := safefile.Read(path, keySize+1)
		if err == nil && len(key) == keySize {
			return &Sealer{key}, nil
		}
		if err == nil {
			return nil, fmt.Errorf("%s is not a key; remove it", path)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the approval key: %w", err)
		}
		fresh, err := NewSealer()
		if err == nil {
			err = safefile.MakeFolder(dir)
		}
		if err == nil { // atomically, unless another process was first
			err = safefile.WriteFile(path, fresh.key, safefile.Options{Mode: safefile.FileMode, New: true})
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the approval key: %w", err)
		}
	}
	return nil, fmt.Errorf("read the approval key: %s keeps disappearing", path)
}

// Seal returns a token with the claims.
func (s *Sealer) Seal(c SealClaims) (string, error) { return s.SealAs("request", c) }

// Unseal returns the claims of a token. The error is ErrSealInvalid; the caller checks the expiry.
func (s *Sealer) Unseal(token string) (c SealClaims, err error) {
	err = s.UnsealAs("request", token, maxToken, &c)
	return c, err
}

// SealAs returns a token with v as JSON that is valid for one purpose only.
func (s *Sealer) SealAs(purpose string, v any) (string, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.mac(purpose, text)), nil
}

// UnsealAs decodes a token of at most max bytes into into. The error is ErrSealInvalid; the caller checks the expiry.
func (s *Sealer) UnsealAs(purpose, token string, max int, into any) error {
	text, seal, ok := strings.Cut(token, ".")
	if !ok || len(token) > max {
		return ErrSealInvalid
	}
	// Compare the encoded seal: base64 has several encodings of the same bytes.
	if !hmac.Equal([]byte(seal), []byte(base64.RawURLEncoding.EncodeToString(s.mac(purpose, text)))) {
		return ErrSealInvalid
	}
	body, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || json.Unmarshal(body, into) != nil {
		return ErrSealInvalid
	}
	return nil
}

func (s *Sealer) mac(purpose, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("planloop " + purpose + " v1\n" + text))
	return mac.Sum(nil)
}

// Fingerprint identifies the arguments of a call, however their JSON is written.
func Fingerprint(arguments []byte) string {
	canonical := jsontext.Value(bytes.Clone(arguments))
	if len(arguments) == 0 {
		canonical = jsontext.Value("{}")
	}
	_ = canonical.Canonicalize() // else it is no JSON, and stays as it is
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
