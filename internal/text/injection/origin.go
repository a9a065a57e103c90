package injection

// An Origin says who wrote a text, as far as memory knows for certain.
type Origin int

const (
	// Own is what the user wrote or said, and any text whose author is unknown.
	Own Origin = iota
	// Foreign is what a server, a tool or a model wrote. It has a lower threshold.
	Foreign
	Origins // number of origins
)

// String returns the name of the origin.
func (o Origin) String() string { return [Origins]string{"own", "foreign"}[o] }

// OfSpeaker returns the origin of a turn or message, by its role.
func OfSpeaker(role string) Origin {
	if role == "tool" {
		return Foreign
	}
	return Own
}
