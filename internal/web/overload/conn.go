package overload

import (
	"net"
	"time"
)

// piece is what a client is to read at a time, in bytes.
const piece = 64 << 10

// A conn holds a place until it is closed. Each piece of an answer has its own time, so that long
// answers have no end as long as the client reads.
type conn struct {
	net.Conn
	places *Places[*conn]
	unread time.Duration
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	for {
		part := p[n:min(len(p), n+piece)]
		now := time.Now()
		if err := c.SetWriteDeadline(now.Add(c.unread)); err != nil {
			return n, err
		}
		c.places.Stall(c, now)
		written, err := c.Conn.Write(part)
		c.places.Stall(c, time.Time{})
		n += written
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// CloseWrite lets net/http end an answer before it has read the request.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.places.Leave(c)
	return c.Conn.Close()
}
