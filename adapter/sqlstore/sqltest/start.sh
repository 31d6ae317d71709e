# shellcheck shell=sh
# Functions of the scripts that start a backend for tests and trials, which source this file. They have
# set $name and $version of the backend, and its packages as $dependencies, members of a JSON object.

say() { echo "$name: $*" >&2; }

# install sets $cache to the folder with what npm installs, once. Two starts at once install one
# after the other; the mark says that it is whole.
install() {
	for program in node npm; do
		command -v $program >/dev/null || { say "$program is not installed: the backend needs Node.js 20.19 or newer and npm"; exit 1; }
	done
	cache=${cache:-${XDG_CACHE_HOME:-$HOME/.cache}/portico/$name}/$version
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	if [ ! -e "$cache/whole" ]; then
		say "npm installs $version into $cache, which takes some minutes once"
		echo "{\"private\": true, $dependencies}" >"$cache/package.json"
		(cd "$cache" && npm install --no-audit --no-fund --loglevel=error >&2)
		touch "$cache/whole"
	fi
	exec 9>&-
}

# serve COMMAND...: runs the server until this script is told to end. prepare.mjs prints the line of JSON
# when it answers.
serve() {
	say "the server starts on $BACKEND_URL"
	"$@" </dev/null >&2 &
	SERVER_PID=$!
	export SERVER_PID
	trap 'kill $SERVER_PID 2>/dev/null; wait $SERVER_PID; exit 0' TERM INT HUP
	node "$here/prepare.mjs" || { kill $SERVER_PID; exit 1; }
	wait $SERVER_PID
}
