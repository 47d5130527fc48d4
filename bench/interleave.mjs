/**
 * Measures every contestant once in each round, starting with another one each time, so that no contestant always has
 * the quiet start or the warm end. The first `warmUps` rounds are not counted. Gives the values by name, in rounds.
 */
export async function interleave(names, { rounds, warmUps = 1 }, measure) {
  const values = new Map(names.map((name) => [name, []]));
  for (let round = -warmUps; round < rounds; round += 1) {
    const first = (round + warmUps) % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const value = await measure(name, round + warmUps);
      if (round >= 0) values.get(name).push(value);
    }
  }
  return values;
}
