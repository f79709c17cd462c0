package verbs

// Decode reads JSON strictly into an input struct, by the rules for the
// arguments of tools. The error about the input is a *plan.ValidationError.
func Decode(data []byte, into any) error { return decode(data, into) }
