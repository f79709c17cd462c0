package downstream

// Error is why a call to a server failed: one printable line without the server's secrets.
type Error struct {
	Server, Problem string
	Sent            bool // the server may have got the request
	Answered        bool // with an error
	Code            int  // of the answer: negative in JSON-RPC, positive in HTTP
	TimedOut        bool

	cause error
}

// Error says which server it is about.
func (e *Error) Error() string { return "the server " + e.Server + " " + e.Problem }

// Unwrap returns what ended the caller's context.
func (e *Error) Unwrap() error { return e.cause }

// Transient reports whether another try may fare better, and does no harm.
func (e *Error) Transient() bool { return !e.Sent }
