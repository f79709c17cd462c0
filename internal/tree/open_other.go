//go:build !unix

package tree

const withoutWaiting = 0
