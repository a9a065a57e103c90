// Package powercut cuts the power while memcore writes, and checks that nothing acknowledged is
// lost or stays broken. It needs Linux.
//
// A kill leaves all written bytes; a loss of power may take whatever was not synced. So a test
// records what the disk holds before each writing call of a command, and which files and folders
// were synced. From that it makes the states that a loss of power may leave, and starts memcore on
// each. The model is what POSIX promises, and a little more: a change of one folder is whole, and
// changes of one folder come in their order. It promises less than ext4, where syncing a file
// also makes its name durable, and changes of different folders come in order too.
package powercut
