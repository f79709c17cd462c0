package downstream

// CacheFile returns the path of the cached list of a configuration's only server.
func CacheFile(c Config, o Options) string {
	for name, settings := range c {
		s := &server{name: name, options: o, key: settings.key(name, o.Dir)}
		return s.cacheFile()
	}
	return ""
}
