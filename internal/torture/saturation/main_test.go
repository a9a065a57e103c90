package saturation_test

import (
	"os"
	"testing"

	"github.com/memcore/memcore/internal/torture"
)

func TestMain(m *testing.M) { os.Exit(torture.Main(m)) }
