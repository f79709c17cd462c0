// Package exchange writes plans for other programs and reads theirs: our own JSON
// and YAML, Markdown check lists and rawko's YAML. What it reads is untrusted:
// bounded, parsed strictly and cleaned before it becomes an action. It knows the
// plan and its renderings, and nothing of files, stores or commands.
package exchange
