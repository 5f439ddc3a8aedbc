class Drawer(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'id': 'str',
            'name': 'str',
            'compartment_id': 'str',
            'freeform_tags': 'dict(str, str)',
        }
        self.attribute_map = {
            'id': 'id',
            'name': 'name',
            'compartment_id': 'compartmentId',
            'freeform_tags': 'freeformTags',
        }

    @property
    def id(self):
        """
        Gets the id.
        """
        return self._id

    @property
    def name(self):
        """
        **[Required]** Gets the name.
        """
        return self._name

    @property
    def compartment_id(self):
        """
        **[Required]** Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def freeform_tags(self):
        """
        Gets the freeform_tags.
        """
        return self._freeform_tags
