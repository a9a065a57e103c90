// Package objects keeps store.Objects in a folder or on S3-compatible storage.
package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/memcore/memcore/store"
)

// A Place is where objects are. Keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN or the machine's role.
type Place struct {
	URI      string // s3://bucket/prefix, or a folder
	Endpoint string // URL of an S3-compatible storage; "" is Amazon's
	Region   string // "" is us-east-1
}

// Open does not connect.
func Open(at Place) (store.Objects, error) {
	if !strings.Contains(at.URI, "://") {
		return folder(at.URI), nil
	}
	uri, err := url.Parse(at.URI)
	if err != nil || uri.Scheme != "s3" || uri.Host == "" {
		return nil, fmt.Errorf("storage %q: want a folder or s3://bucket/prefix", at.URI)
	}
	endpoint, lookup := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}, minio.BucketLookupAuto
	if at.Endpoint != "" {
		if endpoint, err = url.Parse(at.Endpoint); err != nil || endpoint.Host == "" {
			return nil, fmt.Errorf("endpoint %q: want an address such as https://storage.example:9000", at.Endpoint)
		}
		lookup = minio.BucketLookupPath
	}
	region := at.Region
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}}),
		Secure: endpoint.Scheme != "http", Region: region, BucketLookup: lookup,
	})
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", at.URI, err)
	}
	return &bucket{client, uri.Host, strings.Trim(uri.Path, "/")}, nil
}

// A folder has objects as files.
type folder string

func (f folder) file(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("object %q: %w", name, fs.ErrInvalid)
	}
	return filepath.Join(string(f), filepath.FromSlash(name)), nil
}

// Put implements store.Objects.
func (f folder) Put(_ context.Context, name string, data []byte) error {
	file, err := f.file(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".object-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// Get implements store.Objects.
func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// RemoveAll implements store.Objects.
func (f folder) RemoveAll(_ context.Context, name string) (left int, err error) {
	file, err := f.file(name)
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(file); err != nil {
		return 1, err
	}
	return 0, nil
}

// A bucket has objects below a prefix.
type bucket struct {
	client       *minio.Client
	name, prefix string
}

// Put implements store.Objects.
func (b *bucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, b.name, path.Join(b.prefix, name), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
	if err != nil {
		return fmt.Errorf("write object %s: %w", name, err)
	}
	return nil
}

// Get implements store.Objects.
func (b *bucket) Get(ctx context.Context, name string) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.name, path.Join(b.prefix, name), minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	defer object.Close()
	data, err := io.ReadAll(object)
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	return data, nil
}

// RemoveAll implements store.Objects. On a bucket with versions it removes those too.
func (b *bucket) RemoveAll(ctx context.Context, folder string) (left int, err error) {
	prefix := path.Join(b.prefix, folder) + "/"
	for _, versions := range []bool{true, false} { // some storages have no versions to list
		for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, WithVersions: versions}) {
			if object.Err != nil {
				if versions {
					break
				}
				return left, fmt.Errorf("list objects of %s: %w", folder, object.Err)
			}
			err = errors.Join(err, b.client.RemoveObject(ctx, b.name, object.Key, minio.RemoveObjectOptions{VersionID: object.VersionID}))
		}
	}
	for object := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return left, errors.Join(err, object.Err)
		}
		left++
	}
	return left, err
}
