package saturation_test

import (
	"os"
	"testing"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
