// Package shell judges a shell command by what it may do, and runs the ones that
// only read behind a second wall. It is for a phase in which an agent may look at
// everything and change nothing.
//
// Classify parses the command as bash would and allows it only when every part of
// it is known to read: every kind of syntax, every command, every option. What is
// unknown is refused, with the reason and, where there is one, the nearest form
// that is allowed. It is pure: it looks at no file and at no environment. Command
// runs a text with bash in a narrow environment, so that what the judgement
// cannot see, such as the configuration of a repository, does little harm.
//
// It must not know plans, phases or who asks. What may be read is not its matter
// either: a command that prints a file outside the workspace is a reading one.
//
// The judgement is of bash. A host that hands the same text to another shell has
// the same words, but a few constructs mean other things there.
package shell
