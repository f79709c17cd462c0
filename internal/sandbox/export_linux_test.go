//go:build amd64 || arm64

package sandbox

// TryWall tries the wall of this process, which has none, except for folders that count as dropped.
func TryWall(port int, dropped ...string) error {
	return job{Options: Options{Private: "/none", Dropped: dropped}, Port: port}.tryWall()
}
