// Names how much each benchmark line measures, and gives a line its sizes. `full` is what docs/benchmarks.md reports, `quick`
// is a look, and `smoke` is the least that runs every part of a line once: its figures say nothing about speed.

const SIZES = {
  uncontended: {
    full: { rounds: 31, warmUps: 3, ms: 120 },
    quick: { rounds: 7, warmUps: 3, ms: 60 },
    smoke: { rounds: 1, warmUps: 0, ms: 5 },
  },
  contended: {
    full: { processes: 16, rounds: 3, warmUpMs: 9_000, runInMs: 1_500, windowMs: 5_000 },
    quick: { processes: 16, rounds: 1, warmUpMs: 2_500, runInMs: 1_500, windowMs: 2_000 },
    smoke: { processes: 4, rounds: 1, warmUpMs: 30, runInMs: 50, windowMs: 300 },
  },
  killed: {
    full: { kills: 120, batch: 8 },
    quick: { kills: 15, batch: 8 },
    smoke: { kills: 2, batch: 3 },
  },
  line: {
    full: { few: 10, many: 1_000, rounds: 15, warmUps: 2, handOversBefore: 50 },
    quick: { few: 10, many: 1_000, rounds: 5, warmUps: 2, handOversBefore: 50 },
    smoke: { few: 10, many: 50, rounds: 1, warmUps: 0, handOversBefore: 1 },
  },
  growth: {
    full: { few: 10, many: { file: 100_000, sqlite: 1_000_000 }, rounds: 31, warmUps: 3, ms: 120 },
    quick: { few: 10, many: { file: 4_000, sqlite: 100_000 }, rounds: 9, warmUps: 3, ms: 60 },
    smoke: { few: 10, many: { file: 100, sqlite: 1_000 }, rounds: 1, warmUps: 0, ms: 5 },
  },
  audit: {
    full: { short: 1_000, long: 200_000, pairsBefore: 5_000, pairs: 300, rounds: 21 },
    quick: { short: 1_000, long: 20_000, pairsBefore: 5_000, pairs: 300, rounds: 5 },
    smoke: { short: 20, long: 200, pairsBefore: 10, pairs: 10, rounds: 1 },
  },
  start: {
    full: { rounds: 41, warmUps: 2 },
    quick: { rounds: 9, warmUps: 2 },
    smoke: { rounds: 1, warmUps: 0 },
  },
  publish: {
    full: {
      trees: [
        { files: 1, rounds: 300, warmUps: 200 },
        { files: 1, takesLock: true, rounds: 300, warmUps: 200 },
        { files: 100, rounds: 60, warmUps: 20 },
        { files: 10_000, rounds: 5, warmUps: 1 },
      ],
      memory: { small: 1_000, big: 100_000 },
    },
    quick: {
      trees: [
        { files: 1, rounds: 20, warmUps: 200 },
        { files: 1, takesLock: true, rounds: 20, warmUps: 200 },
        { files: 100, rounds: 20, warmUps: 20 },
        { files: 10_000, rounds: 2, warmUps: 1 },
      ],
      memory: { small: 1_000, big: 20_000 },
    },
    smoke: {
      trees: [
        { files: 1, rounds: 1, warmUps: 1 },
        { files: 1, takesLock: true, rounds: 1, warmUps: 1 },
        { files: 10, rounds: 1, warmUps: 1 },
      ],
      memory: { small: 10, big: 30 },
    },
  },
  board: {
    full: { each: 1_000, rounds: 5, warmUps: 1, few: 100, many: 10_000, updates: 100, manyRounds: 15, manyWarmUps: 2 },
    quick: { each: 250, rounds: 3, warmUps: 1, few: 100, many: 10_000, updates: 40, manyRounds: 5, manyWarmUps: 2 },
    smoke: { each: 5, rounds: 1, warmUps: 0, few: 50, many: 100, updates: 3, manyRounds: 1, manyWarmUps: 0 },
  },
  snapshots: {
    full: { files: 10_000, rounds: 3, restores: 3, beside: 3, alone: 7 },
    quick: { files: 1_000, rounds: 3, restores: 3, beside: 3, alone: 7 },
    smoke: { files: 100, rounds: 1, restores: 1, beside: 1, alone: 1 },
  },
  "snapshots-memory": {
    full: { few: 10_000, many: 200_000 },
    quick: { few: 1_000, many: 10_000 },
    smoke: { few: 10, many: 20 },
  },
  jobs: {
    full: {
      through: { count: 3_000, rounds: 7, warmUps: 1 },
      latency: { times: 200 },
      waiting: {
        few: 1_000,
        many: 1_000_000,
        fewProjects: 10,
        manyProjects: 10_000,
        starts: 100,
        rounds: 15,
        warmUps: 1,
      },
    },
    quick: {
      through: { count: 500, rounds: 3, warmUps: 1 },
      latency: { times: 30 },
      waiting: { few: 1_000, many: 10_000, fewProjects: 10, manyProjects: 1_000, starts: 100, rounds: 5, warmUps: 1 },
    },
    smoke: {
      through: { count: 20, rounds: 1, warmUps: 0 },
      latency: { times: 3 },
      waiting: { few: 100, many: 200, fewProjects: 10, manyProjects: 20, starts: 3, rounds: 1, warmUps: 0 },
    },
  },
  "jobs-postgres": {
    full: {
      through: { count: 3_000, rounds: 7, warmUps: 1 },
      latency: { times: 100, rounds: 7, warmUps: 1 },
      waiting: {
        few: 1_000,
        many: 1_000_000,
        fewProjects: 10,
        manyProjects: 10_000,
        starts: 100,
        rounds: 15,
        warmUps: 1,
      },
    },
    quick: {
      through: { count: 500, rounds: 3, warmUps: 1 },
      latency: { times: 20, rounds: 3, warmUps: 1 },
      waiting: { few: 1_000, many: 10_000, fewProjects: 10, manyProjects: 1_000, starts: 100, rounds: 5, warmUps: 1 },
    },
    smoke: {
      through: { count: 20, rounds: 1, warmUps: 0 },
      latency: { times: 3, rounds: 1, warmUps: 0 },
      waiting: { few: 100, many: 200, fewProjects: 10, manyProjects: 20, starts: 3, rounds: 1, warmUps: 0 },
    },
  },
  postgres: {
    full: {
      alone: { rounds: 31, warmUps: 4, ms: 300 },
      together: { clients: 16, rounds: 9, warmUps: 2, ms: 1_500 },
      contended: { processes: 16, rounds: 3, warmUpMs: 9_000, runInMs: 1_500, windowMs: 5_000 },
      growth: { many: 1_000_000, rounds: 21, warmUps: 3, ms: 300 },
    },
    quick: {
      alone: { rounds: 9, warmUps: 4, ms: 150 },
      together: { clients: 16, rounds: 5, warmUps: 2, ms: 600 },
      contended: { processes: 16, rounds: 1, warmUpMs: 2_500, runInMs: 1_500, windowMs: 2_000 },
      growth: { many: 100_000, rounds: 9, warmUps: 3, ms: 150 },
    },
    smoke: {
      alone: { rounds: 1, warmUps: 0, ms: 5 },
      together: { clients: 4, rounds: 1, warmUps: 0, ms: 50 },
      contended: { processes: 4, rounds: 1, warmUpMs: 30, runInMs: 50, windowMs: 300 },
      growth: { many: 1_000, rounds: 1, warmUps: 0, ms: 5 },
    },
  },
};

/** Returns the sizes of a line; `scale` is `full`, `quick` or `smoke`. */
export function sizesOf(line, scale) {
  return SIZES[line][scale];
}
