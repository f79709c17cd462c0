// Package notify tells a person, away from the agent, that something waits for
// them: by a webhook, in a shape of our own or in Discord's, and by a notice on
// the desktop. The user configures it, in a file of their own.
//
// To tell is a courtesy and never a condition: Notify returns at once, whatever
// an endpoint does. Each target has a short queue and a goroutine of its own,
// which the Notifier owns and Close ends, so that one that hangs holds up no
// other. A delivery is tried again within bounds and then given up, with a line
// in the log that names scheme and host and nothing more: the address of a
// webhook is often a secret itself.
//
// What is told is text that a model wrote. It is cut to what the other side
// takes, and escaped so that it pings nobody, forges no markup, and becomes
// neither an option nor a script of a programme.
//
// # The JSON body
//
// A webhook of format json gets a POST with this body; what is empty is left out:
//
//	{
//	  "version": 1,
//	  "id": "K5J2…",                  the same at every try of one notice
//	  "event": "plan_waits",          or another of Events
//	  "workspace": "/home/ann/app",
//	  "title": "…",                   at most 500 characters, on one line
//	  "text": "…",                    at most 4,000
//	  "plan_id": "…",
//	  "steps": [{"step_id": "S001", "title": "…", "risk": "low"}],
//	  "step_count": 3,                how many the plan has; at most 100 are listed
//	  "questions": ["…"],             at most 20
//	  "how": "planloop approve",      where a person can decide
//	  "time": "2026-11-03T09:30:00Z"
//	}
//
// An answer from 200 to 299 is success; its body is not read. More fields may
// come; version changes when one changes its meaning.
//
// The package must not know what a plan is, who may approve it, or when something
// waits: its caller says so. Nothing that comes back from an endpoint decides
// anything.
package notify
