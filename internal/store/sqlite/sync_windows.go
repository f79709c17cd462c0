package sqlite

// ignoreUnsupported drops the error of syncing a folder, which Windows refuses
// and does not need.
func ignoreUnsupported(error) error { return nil }
