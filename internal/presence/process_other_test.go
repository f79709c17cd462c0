//go:build !unix

package presence_test

func permissive() {}
