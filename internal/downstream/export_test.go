package downstream

// CacheFile is where the list of the one server of a configuration is kept.
func CacheFile(c Config, o Options) string {
	for name, settings := range c {
		s := &server{name: name, options: o, key: settings.key(name, o.Dir)}
		return s.cacheFile()
	}
	return ""
}
