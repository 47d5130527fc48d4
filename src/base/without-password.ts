/** Returns a URL as it may be shown, logged or kept: without its password. Other text stays as it is. */
export function withoutPassword(url: string): string {
  const [, scheme, rest = ""] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined) return url;
  return scheme + hidden(rest).replace(/([?&](?:ssl)?password=)[^&#]*/gi, "$1…");
}

/** A password that should have been escaped may contain anything, also what ends the host: then all up to the last @ goes. */
function hidden(rest: string): string {
  const [place = ""] = /^[^/?#]*/.exec(rest) ?? [];
  const [address = ""] = /^[^?]*/.exec(rest) ?? [];
  const isHost = /^[^:]*(:\d*)?$/.test(place);
  const where = place.includes("@") ? place : isHost ? address : rest;
  const end = where.lastIndexOf("@");
  if (end === -1) return rest;
  const [user = ""] = rest.slice(0, end).split(":");
  return user + rest.slice(end);
}
