// Package saturation overloads memcore: too many clients, slow ones, clients that never read, too
// few files and watches. It must refuse clearly, serve other clients, and recover. It reads /proc,
// so it needs Linux.
package saturation
