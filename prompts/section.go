package prompts

// Section returns the planning section in the given strategy: Markdown under a
// single second-level heading, without a trailing newline, to stand beside any
// other sections. Only the closing mindset differs between strategies.
func Section(s Strategy) string {
	mindset := mustRender("mindset_"+string(s.orDefault()), nil)
	return mustRender("section", struct{ Mindset string }{mindset})
}
