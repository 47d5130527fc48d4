const ATTEMPTS = 8;

/**
 * For what has to be quick, or needs a machine that does not stand still meanwhile: it has to come off once. What is slow
 * by design never does.
 */
export async function comesOff(attempt: (time: number) => Promise<boolean>): Promise<void> {
  for (let time = 1; !(await attempt(time)); time += 1)
    if (time === ATTEMPTS) throw new Error(`it did not come off in ${ATTEMPTS} attempts`);
}
