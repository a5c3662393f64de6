# Installs, removes and purges a package in a copy of this machine that is thrown away: an overlay
# in a mount namespace of its own. Prints one line for each thing that holds, and stops at the first
# that does not. Arguments: the package, an empty folder.
set -euo pipefail
package=$1 work=$2
mount -t tmpfs tmpfs "$work"
mkdir "$work"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
root=$work/root
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
# In the copy systemd never runs, and nothing of this machine's temporary files is there.
mount -t tmpfs tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/run"
cp "$package" "$root/tmp/holdfast.deb"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
inside() { chroot "$root" "$@"; }
# The copy has nothing of a Holdfast that this machine may have.
inside dpkg --purge holdfast >/dev/null 2>&1 || true
inside userdel holdfast 2>/dev/null || true
rm -rf "$root/var/lib/holdfast" "$root/etc/holdfast" "$root/var/log/holdfast"

# Every file where a package may put one, without what other packages keep for themselves and without
# this checkout, in which other tests write.
checkout=$(cd "$(dirname "$0")/../.." && pwd)
listing() {
  inside find /boot /etc /opt /srv /usr /var -xdev \( -path /var/lib/dpkg -o -path /var/cache \
    -o -path /var/log -o -path /var/tmp -o -path "$checkout" \) -prune -o -print | grep -vE '^/etc/(\.pwd\.lock|(passwd|group|shadow|gshadow|subuid|subgid)-?)$' | sort
}
accounts() { inside cat /etc/passwd /etc/group; }

listing >"$work/before"
accounts >"$work/accounts-before"
inside dpkg -i /tmp/holdfast.deb >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
listing >"$work/installed"
echo "installed $(comm -13 "$work/before" "$work/installed" | wc -l) files and folders"
inside dpkg --verify holdfast
inside holdfast version
inside holdfast config validate
[ "$(inside stat -c '%U:%G %a' /etc/holdfast/holdfast.yaml)" = 'root:holdfast 640' ] && echo 'configuration is not for everyone'
inside getent passwd holdfast | grep -q ':/var/lib/holdfast:.*nologin' && echo 'user is there'
for page in holdfast.1 holdfastd.8 holdfast.yaml.5; do
  file=/usr/share/man/man${page##*.}/$page.gz
  if inside test -x /usr/bin/man; then
    warnings=$(inside env MANROFFSEQ= man --warnings -E UTF-8 -l -Tutf8 -Z "$file" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$page: $warnings"; exit 1; }
    echo "$page is without warnings"
  else
    echo "$page is not checked: man is not here"
  fi
done
unit=/usr/lib/systemd/system/holdfastd-controller.service
if inside test -x /usr/bin/systemd-analyze; then
  verified=$(inside systemd-analyze verify --man=no "$unit" 2>&1 | grep holdfast || true)
  [ -z "$verified" ] || { echo "$verified"; exit 1; }
  echo 'unit is verified'
  inside systemd-analyze security --offline=true "$unit" 2>/dev/null | sed -n 's/.*exposure level.*: \([0-9.]*\) .*/exposure \1/p'
else
  echo 'unit is not checked: systemd-analyze is not here'
fi

echo '# mine' >>"$root/etc/holdfast/holdfast.yaml"
inside dpkg -i /tmp/holdfast.deb >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q '# mine' "$root/etc/holdfast/holdfast.yaml" && echo 'upgrade keeps the configuration'
mkdir -p "$root/var/lib/holdfast" && echo data >"$root/var/lib/holdfast/store.db"
inside dpkg -r holdfast >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ ! -e "$root/usr/bin/holdfast" ] && grep -q '# mine' "$root/etc/holdfast/holdfast.yaml" &&
  [ -e "$root/var/lib/holdfast/store.db" ] && echo 'removal keeps configuration and data'
inside dpkg -P holdfast >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -iE 'warn|not empty' "$work/log" && exit 1
listing >"$work/after"
accounts >"$work/accounts-after"
diff "$work/before" "$work/after" && diff "$work/accounts-before" "$work/accounts-after" && echo 'purge leaves nothing'
