package downstream

// Error is a failed call to a server: one printable line without the server's secrets.
type Error struct {
	Server, Problem string
	Sent            bool // the server may have got the request
	Answered        bool // with an error
	Code            int  // of the answer: negative in JSON-RPC, positive in HTTP
	TimedOut        bool

	cause error
}

// Error returns the message with the server's name.
func (e *Error) Error() string { return "the server " + e.Server + " " + e.Problem }

// Unwrap returns what ended the caller's context.
func (e *Error) Unwrap() error { return e.cause }

// Transient reports whether a retry may succeed and is safe.
func (e *Error) Transient() bool { return !e.Sent }
