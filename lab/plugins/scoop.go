package main

import "strings"

// writeScoop writes a manifest of Scoop, if the release has Windows.
func writeScoop(r *release, folder string) error {
	now, next := object{}, object{}
	for name, arch := range map[string]string{"64bit": "amd64", "arm64": "arm64"} {
		a := r.find("windows", arch)
		if a == nil {
			continue
		}
		url := r.base + "/" + a.name
		later := func(text string) string {
			return strings.ReplaceAll(text, r.semver(), "$version")
		}
		one, two := object{"url": url, "hash": a.sum}, object{"url": later(url)}
		if a.folder != "" {
			one["extract_dir"], two["extract_dir"] = a.folder, later(a.folder)
		}
		now[name], next[name] = one, two
	}
	if len(now) == 0 {
		return nil
	}
	return write(folder, jsonFile("memcore.json", object{
		"version": r.semver(), "description": summary, "homepage": repository, "license": licenceName,
		"architecture": now, "bin": "memcore.exe",
		"checkver":   object{"github": repository},
		"autoupdate": object{"architecture": next, "hash": object{"url": "$baseurl/" + sumsFile}},
	}))
}
