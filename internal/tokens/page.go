package tokens

import "slices"

// Page returns one of several pages of parts, from 1, and the rest after it. Each page shows the rest of the previous
// one, at least one text.
func Page(parts []Part, room, page int) (shown, left []Part) {
	left = parts
	says := func(p Part) bool { return len(p.Texts) > 0 }
	for range page {
		if !slices.ContainsFunc(left, says) { // for any page number beyond the last
			return left, left
		}
		shown, left = Fit(left, room)
		nothing := !slices.ContainsFunc(shown, says)
		for i := range left {
			if texts := left[i].Texts; nothing && len(texts) > 0 {
				shown[i].Texts, left[i].Texts, nothing = texts[:1], texts[1:], false
			}
		}
	}
	return shown, left
}

// First returns how many of n items, from the first on, fit into room tokens: at least one, if there are any. A page of a
// list is that many; the next page starts after it.
func First(n, room int, cost func(i int) int) int {
	for i := range n {
		if room -= cost(i); i > 0 && room < 0 {
			return i
		}
	}
	return n
}
