/**
 * The policy that comes with the package, for projects that contain maps that contain sketches.
 *
 * A lock covers what lies below it. So looking at a project locks only `project:ID/meta`, and work on its maps goes on;
 * changing a project locks `project:ID`, and everything in it waits.
 */
import type { LockPattern, Policy } from "./rule.js";

const PROJECT = "project:{project}";
const META = `${PROJECT}/meta`;
const MAP = `${PROJECT}/map:{map}`;
const SKETCH = `${MAP}/sketch:{sketch}`;

/** More objects of one map than this are changed under the map's lock. */
const MANY_ON_A_MAP = 1_000;
/** More objects of one sketch than this are changed under one lock for the whole bulk. */
const MANY_IN_A_SKETCH = 100;

const write = (key: string): readonly LockPattern[] => [{ key, mode: "write" }];
const read = (key: string): readonly LockPattern[] => [{ key, mode: "read" }];

export const SHIPPED: Policy = {
  "project.edit": { about: "edit a project's metadata", locks: write(PROJECT) },
  "project.recalculate": { about: "recalculate a project's indices", locks: write(PROJECT), spansNodes: true },
  "project.permissions": { about: "change permissions or roles in a project", locks: write(PROJECT) },
  "project.apply-template": { about: "apply a template to a whole project", locks: write(PROJECT) },
  "project.import": { about: "import files for many maps or sketches", locks: write(PROJECT), spansNodes: true },
  "project.delete": { about: "delete a project", locks: write(PROJECT), destructive: true },
  "project.view": { about: "look at a project's metadata", locks: read(META) },
  "project.list": { about: "list a project's maps and sketches", locks: read(META) },
  "project.query": { about: "read a project's database", locks: read(META) },

  "map.calibrate": { about: "change a map's calibration", locks: write(MAP) },
  "map.generate-tiles": { about: "generate a map's tiles", locks: write(MAP) },
  "map.import-image": { about: "import a floor plan or image onto a map", locks: write(MAP) },
  "map.edit-objects": {
    about: "change objects of a map",
    locks: write(SKETCH),
    above: [{ objects: MANY_ON_A_MAP, locks: write(MAP), wholeBulk: true }],
  },
  "map.delete": { about: "delete a map", locks: write(MAP), destructive: true },
  "map.view": { about: "look at a map's data", locks: read(MAP) },
  "map.export": { about: "export a map", locks: read(MAP) },
  "map.render": { about: "render a map in the viewer", locks: read(MAP) },
  "map.query": { about: "list features of a map", locks: read(MAP) },

  "sketch.create": { about: "create a sketch", locks: write(SKETCH) },
  "sketch.edit": { about: "edit a sketch's geometry or properties", locks: write(SKETCH) },
  "sketch.edit-objects": {
    about: "change several objects of a sketch",
    locks: write(SKETCH),
    above: [{ objects: MANY_IN_A_SKETCH, locks: write(SKETCH), wholeBulk: true }],
  },
  "sketch.reassign": { about: "move features to another sketch", locks: write(SKETCH) },
  "sketch.delete": { about: "delete a sketch", locks: write(SKETCH), destructive: true },
  "sketch.view": { about: "look at a sketch's content", locks: read(SKETCH) },
  "sketch.measure": { about: "hit-test, select or measure", locks: read(SKETCH) },
  "sketch.query": { about: "read a sketch with a tool", locks: read(SKETCH) },
};
