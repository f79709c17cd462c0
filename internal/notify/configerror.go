package notify

import "errors"

// ErrInvalid is wrapped by every error of a configuration that cannot be used.
var ErrInvalid = errors.New("notices cannot be sent this way")

// ConfigError is a key of the configuration that cannot be used. It never repeats
// what may be a secret: no address, and no name that looks like a key.
type ConfigError struct {
	Key     string // as it is written below notify, such as webhooks[0].url
	Problem string
	Want    string
}

// Error says which key is wrong and what to write.
func (e *ConfigError) Error() string { return "notify: " + e.Key + " " + e.Problem + "; " + e.Want }

// Unwrap returns ErrInvalid.
func (e *ConfigError) Unwrap() error { return ErrInvalid }
