package tenants

import (
	"errors"
	"fmt"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// A judge refuses changes of one write. The mirror is locked.
type judge struct {
	principal service.Principal
	mirror    *mirror
	imported  map[string]bool // nil if it is not known
}

func (j *judge) may(stored string) error {
	if err := may(j.principal, stored); err != nil || j.principal.Right.Includes(service.Admin) || !isOfSeveral(stored) {
		return err
	}
	if j.imported == nil {
		var err error
		if j.imported, err = j.mirror.imported(); err != nil {
			return err
		}
	}
	if !j.imported[stored] {
		return nil
	}
	return kind.As(kind.Forbidden, fmt.Errorf("%s is imported by what instructs the agents of others, which needs the right %s", shownAs(j.principal, stored), service.Admin))
}

// may judges a change by its path.
func may(p service.Principal, stored string) error {
	if err := checkStored(stored); err != nil {
		return err
	}
	shown := shownAs(p, stored)
	switch {
	case shown == "":
		return kind.As(kind.Forbidden, errors.New("you may not change documents of other users and teams"))
	case !p.Right.Includes(service.Write):
		return kind.As(kind.Forbidden, fmt.Errorf("you may only read %s", shown))
	case instructsOthers(stored) && !p.Right.Includes(service.Admin):
		return kind.Hint(kind.As(kind.Forbidden, fmt.Errorf("%s instructs the agents of others, which needs the right %s", shown, service.Admin)),
			"save to the target global, or put a document elsewhere")
	}
	return nil
}
