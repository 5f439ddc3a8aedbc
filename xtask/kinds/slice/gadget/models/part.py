class Part(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'part_type': 'str',
        }
        self.attribute_map = {
            'part_type': 'partType',
        }

    @staticmethod
    def get_subtype(object_dictionary):
        type = object_dictionary['partType']
        if type == 'GEAR':
            return 'GearPart'
        else:
            return 'Part'

    @property
    def part_type(self):
        """
        **[Required]** Gets the part_type.
        """
        return self._part_type
